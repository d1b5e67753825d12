"""What a visitor pastes: text of other programs, turned into inputs and into figures beside an estimate."""
