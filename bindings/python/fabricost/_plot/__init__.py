"""What fabricost.plot draws with; import it from there."""
