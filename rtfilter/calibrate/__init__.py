"""`rtfilter calibrate`: the cost model's constants, measured on this machine and kept for it."""
