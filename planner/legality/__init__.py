"""Which filters are right, whatever they cost. Each rule is a function that returns why not."""
