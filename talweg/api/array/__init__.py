"""tf's array functions: shape, joining, slicing, gathering, sorting, counting."""
