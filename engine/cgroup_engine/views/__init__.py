"""What people look at: tables, reasons, differences, pictures. Changes nothing."""
