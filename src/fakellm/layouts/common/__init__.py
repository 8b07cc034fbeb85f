"""What several vendors' layouts share: telling, parsing, reading JSON fields, routes. It knows no vendor."""
