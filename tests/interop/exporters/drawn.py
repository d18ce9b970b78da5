"""What is planted and drawn anew each time: values of forms that telephone offices, banks and
vendors publish.

`#` is a digit, `@` a small letter, `^` a capital, `*` any of these, `%` a hexadecimal digit. Nothing that is drawn is kept.
"""

import random
import string

PHONES = (
    "+33 6 ## ## ## ##",
    "+31 6 2#######",
    "+48 6## ### ###",
    "+46 7#-### ## ##",
    "+39 34# ### ####",
    "+81 90-####-####",
    "+86 13# #### ####",
    "+91 98### #####",
    "+55 (11) 9####-####",
    "+61 4## ### ###",
    "+358 4# ### ####",
    "+41 44 ### ## ##",
    "+47 4## ## ###",
    "+90 53# ### ## ##",
    "phone: 030 2#######",
    "Tel. 01 4# ## ## ##",
    "Call 02# ### ## ##",
    "her mobile is 07#######9",
    "fax: 022/###-##-##",
    "(312) 4##-####",
    "617.2##.####x12",
)
MAILS = (
    "gmail.com",
    "hotmail.com",
    "proton.me",
    "gmx.net",
    "mairie-lyon.fr",
    "ox.ac.uk",
    "cityofboston.gov",
)
"""Hosts of mail; the names before them are drawn."""
NETS = ("8#.1##.7#.4#", "19#.45.67.8#", "2a02:%%%%:%%%%:%%%%::%%%%")
KEYS = (
    "AKIA^^^^^#^^^^^##^^^",
    "gho_************************************",
    "glpat-********************",
    "glrt-********************",
    "xoxp-############-############-********************************",
    "xapp-1-A^^^^^^^^^^-#############-%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
    "rk_live_************************",
    "whsec_********************************",
    "GOCSPX-****************************",
    "AIza***********************************",
    "hf_**********************************",
    "pypi-AgEIcHlwaS5vcmc************************************************",
    "key-@@@@#@@@@#@@@@#@@@@#@@@@#@@@@#@@",
    "%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%-us12",
    "SK%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
    "sq0atp-**********************",
    "shpat_%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
    "dapi%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
    "dp.pt.*******************************************",
    "lin_api_****************************************",
    "glsa_********************************_%%%%%%%%",
    "hvs.************************",
    "gsk_****************************************************",
    "##########:AA*********************************",
    "https://discord.com/api/webhooks/##################/****************************************",
    "AccountName=shop;AccountKey=************************************************************==",
    "Authorization: Bearer a1B****************************************",
    "-----BEGIN EC PRIVATE " + "KEY-----",
    "PuTTY-User-Key-" + "File-3: ssh-ed25519",
    "curl -u jo:a1B*************** https://api.kvarnby.se",
    "mongodb+srv://svc:a1B***************@cluster0.ab1cd.mongodb.net/app",
    '{"SecretAccessKey": "a1B*************************************"}',
    '{\\"password\\": \\"a1B*******************\\"}',
    "root:$6$********$**************************************************************************************",
)
NOTICES = (
    "GNU Free Documentation License, Version 1.3",
    "Open Software License 3.0",
    "Common Development and Distribution License",
    "https://creativecommons.org/licenses/by-nc/4.0/",
    "https://www.gnu.org/licenses/gpl-3.0.html",
    "Open Data Commons Open Database License (ODbL)",
    "SPDX-License-Identifier: SSPL-1.0",
    "SPDX-License-Identifier: BUSL-1.1",
    "PolyForm Noncommercial License 1.0.0",
    "Copyright (c) 2020, Oracle and/or its affiliates",
    "© The New York Times Company",
    "Llama 3.1 Community License Agreement",
    "under OpenRAIL-M",
    "Artistic License 2.0",
    "CeCILL-2.1",
    "GPL-licensed code",
    "Reproduction prohibited",
    "Urheberrechtlich geschützt",
    "Vertraulich, nur für den internen Gebrauch",
    "© 2021 Reuters. Tous droits réservés",
    "Unauthorized copying of this file is strictly prohibited",
    "You may not use this material for commercial purposes",
    "Microsoft Public License (Ms-PL)",
    "Text is available under the Creative Commons Attribution-ShareAlike License",
    "for academic research only",
    "licence: cc-by-nc-4.0",
    "Trade secret of Acme Corp.",
)
_NATIONAL = (
    "personnummer 811228-9874",
    "HETU 131052-308T",
    "RSSMRA85T10A562S",
    "CPF 529.982.247-25",
    "PESEL 44051401359",
    "T.C. kimlik 10000000146",
    "BSN: 123456782",
    "Steuer-ID 86095742719",
    "ID number 11010519491231002X",
)
"""Examples that the offices themselves give."""
_LETTERS = {
    "#": string.digits,
    "@": string.ascii_lowercase,
    "^": string.ascii_uppercase,
    "*": string.ascii_letters + string.digits,
    "%": "0123456789abcdef",
}


def draw(seed: int) -> list[tuple[str, str]]:
    """Twenty of people, secrets and notices each: kind and text."""
    dice = random.Random(seed)
    texts = [_fill(one, dice, "#%") for one in (*dice.sample(PHONES, 9), *dice.sample(NETS, 2))]
    texts += [f"{_fill('@@@@@@.@@@@@@##', dice, '@#')}@{host}" for host in dice.sample(MAILS, 4)]
    texts += [
        f"Pay to {_make_iban(dice)}",
        f"iban={_make_iban(dice)}",
        f"the card {_make_card(dice)}",
        *dice.sample(_NATIONAL, 2),
    ]
    keys = [_fill(one, dice, "#*" if "://" in one else "#@^*%") for one in dice.sample(KEYS, 20)]
    return [
        *(("person", one) for one in texts),
        *(("secret", one) for one in keys),
        *(("licence", one) for one in dice.sample(NOTICES, 20)),
    ]


def _fill(form: str, dice: random.Random, signs: str) -> str:
    return "".join(dice.choice(_LETTERS[one]) if one in signs else one for one in form)


def _make_iban(dice: random.Random) -> str:
    account = _fill("##################", dice, "#")
    return f"DE{98 - int(f'{account}131400') % 97:02d}{account}"


def _make_card(dice: random.Random) -> str:
    digits = _fill("4539###########", dice, "#")
    doubled = [int(one) * (2 - place % 2) for place, one in enumerate(digits)]
    return f"{digits}{-sum(one - 9 if one > 9 else one for one in doubled) % 10}"
