"""Python loops over arrays, each as one function of C."""
