"""The plan: what the bridge shows of it as frozen nodes and expressions, and what can be read off them."""
