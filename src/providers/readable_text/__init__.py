"""
Readable text of mails (docs/spec/readable-text.md).

    html_text         HTML as text: links kept, tables readable
    quoted_history    the text of a mail without quotations and signatures
"""
