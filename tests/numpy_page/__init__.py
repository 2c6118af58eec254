"""What of NumPy fuses: every public function called, and the page that is made of it."""
