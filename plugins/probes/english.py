"""The commonest words of English, by which a sample's English is told."""

_WORDS = """
the of and a to in i is was he for it with as his on be at by had not are but from or have an they which one you were
all her she there would their we him been has when who will no more if out so up said what its about than into
them can only other time new some could these two may first then do any like my now over such our man me even most
made after also did many off before must well back through years much where your way down should because long each
just those people too mr how little state good make very year still see work life here being day get know go come
say take think great old own came never every under last might use same another while us between both own found
yes please want help let something again thing world place went look right ask need why
"""

COMMON_WORDS = frozenset(_WORDS.split())
