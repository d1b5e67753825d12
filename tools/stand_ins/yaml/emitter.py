"""Nothing is written as YAML here."""
