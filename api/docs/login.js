// Nothing to log in to: a server that has a login page serves another file here.
