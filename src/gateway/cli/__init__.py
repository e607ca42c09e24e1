"""
The command line, `access-gateway …`. Modules are imported late, so that `--help` is fast.

    main           every command and its group on the help page
    commands/      one module per command or group: options in, one operation, output
    checkup/       the checks of `doctor`
    options        options that several commands share
    option_values  values that are a text, @FILE or standard input
    console        output, progress, and failures as sentences
    stores         the configured store, and operations in its sessions
    in_process     a gateway in this process
    account_setup  accounts connected by consent, device code or secret
    loopback       the redirect URI of a consent
"""
