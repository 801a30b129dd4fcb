from twowiki.rewards.environment import world_questions as world_questions
from twowiki.rewards.functions import answer as answer
from twowiki.rewards.functions import evidence as evidence
from twowiki.rewards.functions import format as format
from twowiki.rewards.functions import grounded as grounded
from twowiki.rewards.functions import joint as joint
from twowiki.rewards.functions import support as support
