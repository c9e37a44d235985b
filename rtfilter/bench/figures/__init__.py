"""Plain numbers out of the runs: result.json, what was gained and lost, and by how much more than chance."""
