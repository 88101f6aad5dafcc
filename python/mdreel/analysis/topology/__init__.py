"""Groups, references, residues and other data from a topology."""
