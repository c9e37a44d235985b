"""What filters did in earlier queries, kept for the planning of later ones."""
