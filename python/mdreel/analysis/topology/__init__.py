"""Groups, references, residues and other properties of a topology."""
