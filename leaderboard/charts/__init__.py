"""The charts of pages as SVG or HTML, and social cards as PNG."""
