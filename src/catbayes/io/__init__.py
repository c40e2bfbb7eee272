"""Tables in files, databases and clusters: gathering evidence from them and encoding them; saved encoders."""
