"""Elements that are not finite or out of range: their origin, and their uses."""
