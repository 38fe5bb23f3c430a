"""The languages that can be told apart: code, English name and how much is written in each.

The share is a rough prior for a text of which nothing else is known. It matters for short texts only: two words of
English look like many languages, and a flat prior would call them Frisian or Tagalog. Four steps are all that is
claimed to be known about it.
"""

from __future__ import annotations

_ENGLISH, _WORLD, _NATIONAL, _RARE = 32.0, 8.0, 1.0, 0.125

_BY_SHARE = {
    _ENGLISH: "en english",
    _WORLD: """
        ar arabic, cs czech, de german, es spanish, fa persian, fr french, id indonesian, it italian, ja japanese,
        ko korean, nl dutch, pl polish, pt portuguese, ru russian, tr turkish, uk ukrainian, vi vietnamese, zh chinese
    """,
    _NATIONAL: """
        bg bulgarian, bn bengali, ca catalan, da danish, el greek, et estonian, fi finnish, he hebrew, hi hindi,
        hr croatian, hu hungarian, hy armenian, is icelandic, ka georgian, kk kazakh, lt lithuanian, lv latvian,
        mk macedonian, ms malay, no norwegian, ro romanian, sk slovak, sl slovenian, sq albanian, sr serbian,
        sv swedish, ta tamil, th thai, ur urdu, am amharic, az azerbaijani, be belarusian, bs bosnian, gu gujarati,
        km khmer, kn kannada, ky kyrgyz, lo lao, ml malayalam, mn mongolian, mr marathi, my burmese, ne nepali,
        pa punjabi, ps pashto, si sinhala, te telugu, tg tajik, uz uzbek
    """,
    _RARE: """
        af afrikaans, an aragonese, as assamese, ba bashkir, bo tibetan, br breton, cy welsh, eo esperanto, eu basque,
        fo faroese, fy frisian, ga irish, gd gaelic, gl galician, ha hausa, ht haitian, ig igbo, jv javanese,
        ku kurdish, la latin, lb luxembourgish, lg ganda, ln lingala, mg malagasy, mt maltese, oc occitan, om oromo,
        or odia, qu quechua, rw kinyarwanda, sa sanskrit, se sami, sn shona, so somali, st sesotho, sw swahili,
        tk turkmen, tl tagalog, tt tatar, ug uyghur, wa walloon, xh xhosa, yo yoruba, zu zulu
    """,
}

NAMES: dict[str, str] = {
    code: name for listed in _BY_SHARE.values() for code, name in (entry.split() for entry in listed.split(","))
}
"""ISO 639-1 code and English name of every language that `detect` can name."""

SHARES: dict[str, float] = {
    entry.split()[0]: share for share, listed in _BY_SHARE.items() for entry in listed.split(",")
}
"""How much is written in each, English above all; not normalised."""
