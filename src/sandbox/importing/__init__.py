"""
Importers of real files into the sandbox. See docs/spec/sandbox.md#importing-real-data.

    dispatch           selects the importer by target and kind of file
    report             interface and report of an importer
    folders            folders of calendars, mail or tables
    mail_importer      mail files -> a mailbox
    mail_files         messages in mbox, .eml, .emlx and maildir files
    mail_flags         folder, labels and flags of a message file
    calendar_importer  an .ics file -> a calendar
    ical_files         events of an .ics file
    ical_components    iCalendar syntax: lines and components
    ical_properties    properties of an event: texts, people, reminders
    ical_times         dates, times and periods
    ical_zones         time zones, matched to IANA names
    ical_series        merges recurring events with their changed occurrences
    content_importer   a folder -> a document library; a CSV file -> a list
    board_importer     a CSV file -> a task board
    csv_tables         CSV files as typed tables
"""
