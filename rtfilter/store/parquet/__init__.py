"""What the footer of one Parquet file says: its packs, their bounds, and how far these can be believed."""
