"""How a buffer in LDS is laid out, so that the lanes of an access meet no conflict."""
