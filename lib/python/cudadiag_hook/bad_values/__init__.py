"""Elements that are not finite or out of range: where they come from, and what is made of them."""
