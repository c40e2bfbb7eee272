"""Fitted encoders as lookups in SQL and ONNX."""
