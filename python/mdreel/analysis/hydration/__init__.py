"""Residence and orientation of molecules in shells."""
