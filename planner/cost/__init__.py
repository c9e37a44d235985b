"""What a filter is expected to save and to cost: sizes, shares of rows, times."""
