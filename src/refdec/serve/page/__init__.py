"""The page of the server: what a browser gets at `/`. It asks the HTTP API from there, like any other client."""
