"""Which columns matter: the votes of Pinot's tuner and of its successor, and its rules of thumb."""
