"""The parts that fabricost.plot draws with; import them from there."""
