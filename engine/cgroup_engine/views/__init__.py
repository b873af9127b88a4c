"""Views for people and programs: tables, explanations, differences, pictures. Changes nothing."""
