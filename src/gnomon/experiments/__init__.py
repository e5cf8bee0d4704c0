"""One module per reproduced table or figure."""
