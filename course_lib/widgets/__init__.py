"""Views of scenarios: state is plain data, one function turns it into markup, the controls are thin."""
