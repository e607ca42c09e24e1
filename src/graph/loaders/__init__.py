"""
Data loaders of one request: objects that are wanted at the same time are read together.

    request_loaders  the loaders of a request: those below, and those of mail and calendars
    content_loaders  files, sites, lists, list items, and what belongs to them
    task_loaders     boards and items
    object_loader    the loader of one kind of object

Loaders live in the context, so records are never shared between tokens. A key is an id and the
wanted attributes, because a record fetched for one selection may lack attributes of another. The
keys of one turn of the event loop are one batch: an object that several selections want is read
once, with all their attributes, and the objects that want the same attributes by one call of
their port.
"""
