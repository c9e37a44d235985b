"""Which of the right filters are placed, and the answer that the bridge gets."""
