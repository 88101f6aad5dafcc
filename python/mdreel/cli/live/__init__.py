"""Commands for running simulations."""
