"""Notices: what an analysis of a running simulation lets others see, beside the channel that it reads."""
