"""The container engine, the images it runs and the registries they come from."""
