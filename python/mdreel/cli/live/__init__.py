"""Commands about running simulations."""
