"""What evaluating an agent and playing a duel share: the request, the attempts, and how what happened is written down."""
