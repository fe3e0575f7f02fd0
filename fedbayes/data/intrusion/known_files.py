"""What is known about the published files: their places, their content and their terms of use.

Places are given for people: the publishers ask for their terms to be accepted, so nothing is downloaded from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Publication:
    """Where a data set is published.

    Attributes
    ----------
    files
        The files that make the complete data, in words.
    places
        Addresses, the publisher's first.
    terms
        Terms of use in one sentence.
    """

    files: str
    places: tuple[str, ...]
    terms: str


_CIC_TERMS = "free for researchers; cite Sharafaldin, Habibi Lashkari and Ghorbani, ICISSP 2018"

PUBLICATIONS = {
    "nsl-kdd": Publication(
        "KDDTrain+.txt (125,973 rows) and KDDTest+.txt (22,544 rows); .csv, .arff and .parquet copies are read too",
        (
            "https://www.unb.ca/cic/datasets/nsl.html (Canadian Institute for Cybersecurity, UNB)",
            "https://github.com/tylerbg/NSL-KDD (folder data/raw)",
            "https://www.kaggle.com/datasets/hassan06/nslkdd",
        ),
        "free for researchers; cite Tavallaee, Bagheri, Lu and Ghorbani, CISDA 2009",
    ),
    "unsw-nb15": Publication(
        "UNSW_NB15_training-set.csv and UNSW_NB15_testing-set.csv (175,341 and 82,332 rows, whichever is called what)",
        (
            "https://research.unsw.edu.au/projects/unsw-nb15-dataset (folder 'Training and Testing Sets')",
            "https://www.kaggle.com/datasets/mrwellsdavid/unsw-nb15",
        ),
        "free for academic research, commercial use by agreement with the authors; cite Moustafa and Slay,"
        " MilCIS 2015",
    ),
    "cic-ids2017": Publication(
        "the eight cleaned Parquet files '*-no-metadata.parquet' (2,313,810 rows, the paper's form), or the eight CSV"
        " files of GeneratedLabelledFlows.zip (2,830,743 rows); those of MachineLearningCSV.zip have no Protocol",
        (
            "https://www.kaggle.com/datasets/dhoogla/cicids2017 (cleaned Parquet files)",
            "https://www.unb.ca/cic/datasets/ids-2017.html (Canadian Institute for Cybersecurity, UNB)",
            "https://github.com/fisher85/ml-cybersecurity (web_attacks_balanced, one morning, 7,267 rows)",
        ),
        _CIC_TERMS,
    ),
    "cic-ids2017-corrected": Publication(
        "CSV files of the corrected release, or the 16 files of a sample of at most 5,000 flows per class",
        (
            "https://intrusion-detection.distrinet-research.be/CNS2022/ (its authors)",
            "https://github.com/ScubaInstructor/fuh (folder nids-daten/sampled_CICIDS2017_improved_rnd_5000)",
        ),
        f"{_CIC_TERMS}, and Liu, Engelen, Lynar, Essam and Joosen, CNS 2022",
    ),
    "cic-ids2017-reduced": Publication(
        "cicids2017_sample.csv (12,000 rows, 52 features)",
        ("https://github.com/k00000tek/previsor (folder data/samples)",),
        _CIC_TERMS,
    ),
}

# SHA-256 of the content, not compressed, of files that were compared with other copies.
CHECKSUMS = {
    "KDDTrain+.txt": "1b86d2f957b33082081bba410fe129b475efebcc13c9014c3f447c8271aadf95",
    "KDDTest+.txt": "fa46b0935342616aa83b7c2578db355b6a7aaabbc492248172c7a1e8b7ab8f84",
    "KDDTrain+_20Percent.txt": "1a1559ff163a1dfa7ad1fba6b00ac6a408cc16741588831b66f043b918881e53",
    "KDDTest-21.txt": "746993ac9e25868827cacf09eab450050a2a1056e1ce48a1ad39f5dc801d531d",
    "UNSW_NB15_training-set.csv": "734fe6642edf758f7c94d7d9149426b49d202fe8e7bf0bef47392489c3c0a559",
    "web_attacks_balanced.csv": "48b6136739e96199bf6ee0ec5419568d715dfb84157f36b913eff3bb53f6d928",
    "cicids2017_sample.csv": "db292a75bb0b9f740398aebf4b992c4e52a316705a71b5cb222563ab8a382fb4",
    "BENIGN_5000.csv": "4eb03c14763fe5ff4f58e713e39ad930cfdec264e8d5262b4acd6df3227298ae",
    "Botnet_736.csv": "55b49f70d1d7df13644a3d5f01abb742e35cda5d952ee43c737eaa38a1a6ea79",
    "DDoS_5000.csv": "36eb4d2851997237b4b13e9f4c8175563d5236c784dcf7247b7b46b08dc62815",
    "DoS_GoldenEye_5000.csv": "cb6f7b734168b643153cd45ce7f552e8b073b5b8a744c1a2a02763212d2cec6c",
    "DoS_Hulk_5000.csv": "64789076d2559ce1e4bead0fcbe2b806de2b3c5cd97771705295cafd3ed0cfb7",
    "DoS_Slowhttptest_1740.csv": "4159ba005254aa8b0a0c04b47844f2221369279eedf19308fa9875cc075f3534",
    "DoS_Slowloris_3859.csv": "8114bfec656df7e8c4b9d539640ad3b01ad50794a2faa9fb0ccf5884ca03f157",
    "FTP-Patator_3972.csv": "73355b1584316393ec7b367407db0e2914d18692eff3bd7b9cc91ed89daa8145",
    "Heartbleed_11.csv": "bf610cc626325778dda3e54b431cc60142f6b8bffedb1f9b8a7f9481a673ea55",
    "Infiltration_-_Portscan_5000.csv": "1a7a6a0906995f2eb6f2ea951b3d4ee024010e9e15783efb0a19c3c04876308d",
    "Infiltration_36.csv": "3cd57b9cd7a7a9f7fa98f2c4d2147febafe551cc9d9b86a949a6947cda576beb",
    "Portscan_5000.csv": "022a5885f6704f8c4ab0ef888b31e5ee1aef46b6c64fe6b3c039e51f93f31c96",
    "SSH-Patator_2961.csv": "07319168e4435ea24439f64ece1dcf64ad1c2c58cce9e062e9cba757aea94709",
    "Web_Attack_-_Brute_Force_73.csv": "d244df46f686a48ded36b0328ad14e80beee1c5560fede0e3f07cea02ee030d9",
    "Web_Attack_-_SQL_Injection_13.csv": "aca6ed973bf1ace011a44ddfc3914393895828666314a018e7581e27343be1e0",
    "Web_Attack_-_XSS_18.csv": "51ffc2d6d24497e11768b2b80beca3a15353d76c3e28f5c98affc24e8affb94e",
}
