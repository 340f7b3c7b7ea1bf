"""Pictures and pages of a design: questions asked backwards, whole runs, spaces of machines."""
