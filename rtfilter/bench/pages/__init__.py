"""What a person sees: the printed tables, and report.html with its charts."""
