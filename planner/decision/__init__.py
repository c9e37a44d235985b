"""What becomes of a filter once its keys and the verdict on every pack are there."""
