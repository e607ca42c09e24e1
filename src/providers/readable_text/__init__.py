"""
Readable text of mails and files (docs/spec/readable-text.md).

    html_text         HTML as text: links kept, tables readable
    quoted_history    the text of a mail without quotations and signatures
    files             the text of a file, by its type
    document_reader   the program that reads documents, in a process of its own
"""
