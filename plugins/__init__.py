"""The built-in plugins: ordinary plugins that use only andrea_core's public names."""

if __name__ != "andrea_plugins":
    # Under another name every class would exist twice, and no `isinstance` or registration would match.
    raise ImportError("import the built-in plugins as `andrea_plugins`; the folder's own name is not importable")
