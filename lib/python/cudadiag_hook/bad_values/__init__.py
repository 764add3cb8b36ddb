"""Elements that are not finite, or out of range: where they come from, and where they are used."""
