"""Make up the notes of the tutorial: python docs/tutorial/hospital.py notes.csv

Nobody wrote them, and nobody in them exists. Always the same notes: 8,000 patients in six wards, some with one note
and some with many, and names of staff in the text, as in real feedback.
"""

import csv
import random
import sys
from pathlib import Path

WARDS = {  # what is written about where, out of 100
    "cardiology": {
        "medication": 22,
        "breathing": 26,
        "staff": 12,
        "sleep": 12,
        "waiting": 8,
        "food": 12,
        "leaving": 8,
    },
    "children": {"family": 34, "staff": 18, "food": 14, "pain": 10, "waiting": 10, "sleep": 8, "parking": 6},
    "emergency": {"waiting": 44, "pain": 20, "staff": 10, "parking": 12, "breathing": 8, "cleaning": 6},
    "geriatrics": {"walking": 30, "food": 18, "sleep": 14, "medication": 14, "family": 12, "staff": 12},
    "maternity": {"birth": 44, "staff": 18, "family": 16, "sleep": 12, "leaving": 10},
    "surgery": {
        "pain": 26,
        "operation": 28,
        "leaving": 14,
        "food": 10,
        "sleep": 10,
        "cleaning": 6,
        "walking": 6,
    },
}

SENTENCES = {
    "sleep": """
        I could not sleep because the corridor was so loud at night.
        The lights stayed on until midnight and the alarm rang again.
        My neighbour snored and the window would not close.
        Please turn the telephones down at night, nobody could rest.
        The bed was too short and the pillow thin, so I lay awake.
        Doors were slamming in the corridor all night long.
        Ear plugs and a dark curtain would help patients sleep.
        I was tired every morning after such a noisy night.
        A quiet room after ten would be a great help.
        They woke me at five in the morning to change the bed.
    """,
    "food": """
        The soup was cold and the bread was dry again.
        Breakfast came late but the coffee was hot and good.
        There was hardly anything vegetarian on the menu.
        Lunch tasted of nothing and the portion was small.
        I am diabetic and was served sweet pudding for dinner.
        The kitchen forgot my tray twice this week.
        Fresh fruit at breakfast would be nice.
        Dinner at half past four is too early, we were hungry at night.
        The tea trolley came round and the cake was lovely.
        Vegetables were boiled to mush and the meat was tough.
    """,
    "pain": """
        The pain in my back was worse after the injection.
        It took an hour until I got something for the pain.
        My knee was swollen and hurt at every step.
        They asked me about the pain on a scale from one to ten.
        The tablets helped against the headache but not for long.
        My shoulder hurt so much that I could not lift the arm.
        The pain pump worked well and I felt relief soon.
        An ice pack eased the swelling of the ankle.
        The wound was sore and the plaster itched.
        Stronger painkillers were only given when I asked a third time.
    """,
    "waiting": """
        We waited five hours in a crowded waiting room.
        Nobody told us how much longer it would take.
        The queue at the desk did not move and there were no chairs left.
        Our appointment was at nine and we were called at noon.
        People who came later were seen before us and nobody explained why.
        A screen with the waiting time would help a lot.
        The receptionist lost our form and we had to queue again.
        After the blood test we sat and waited for the result until evening.
        Triage was quick but then we waited for the doctor for hours.
        We were sent from one desk to another and back.
    """,
    "medication": """
        I was given two different tablets and did not know why.
        The dose was changed and nobody told my pharmacy.
        The new blood pressure tablets made me dizzy.
        The list of my medication was missing when I was admitted.
        The pharmacist explained every tablet and its side effects.
        My insulin came an hour late on two evenings.
        I had a rash from the antibiotic and it was stopped at once.
        The tablets for the morning were handed out at noon.
        A printed plan of my medication would be useful.
        They checked the dose of the blood thinner every day.
    """,
    "staff": """
        Everybody was kind and took time for my questions.
        The nurses were friendly although they had so much to do.
        I felt listened to and was treated with respect.
        The doctor explained the results in words that I understood.
        Thank you to the whole team for the kind care.
        One nurse was rude and rolled her eyes when I rang.
        The young doctor was patient and honest with me.
        They introduced themselves by name and asked for mine.
        I rang the bell and somebody came at once with a smile.
        There were too few nurses at the weekend.
    """,
    "family": """
        My mother could stay with us in a folding bed.
        Visiting hours are too short for people who work.
        The children were allowed to paint in the playroom.
        Our son was less afraid because his father could come along.
        Grandparents were sent away although visiting hours had just begun.
        The playroom has lovely toys and a kind clown came to visit.
        Our daughter cried when her parents had to leave.
        A place to sit with the family would be welcome.
        Brothers and sisters should be allowed to visit, too.
        The family was told nothing on the telephone.
    """,
    "walking": """
        The physiotherapist practised walking with the frame every day.
        I fell on the way to the bathroom because the floor was wet.
        The handrail in the shower is too far away.
        Climbing stairs with the stick went better each day.
        There was no wheelchair to take me to the garden.
        My slippers had no grip and I was afraid of falling.
        Exercises in the chair did my balance good.
        The walking frame was too low for me and hurt my back.
        I would have liked more physiotherapy at the weekend.
        Getting up from the low chair was hard.
    """,
    "operation": """
        The surgeon explained the operation with a drawing.
        My operation was put off twice on the same day.
        I was not allowed to drink and then waited for the operation until evening.
        The anaesthetist was calm and took away my fear.
        I woke up in recovery and was freezing.
        The scar is small and heals well.
        Nobody told me how the operation had gone until the next day.
        The stitches were removed without trouble.
        I signed the consent form minutes before surgery.
        The dressing was changed every day by the same person.
    """,
    "breathing": """
        I was short of breath and got oxygen at once.
        The oxygen mask pressed on my nose all day.
        My heart was racing and the monitor beeped.
        The inhaler was explained to me with a film.
        After the stent the tightness in my chest was gone.
        The cardiologist showed me the ultrasound of my heart.
        The cables of the monitor were always in the way.
        I coughed all week and the air in the room was dry.
        Breathing exercises with the therapist helped my lungs.
        The heart echo was done on the day of admission.
    """,
    "birth": """
        The midwife stayed with me during the whole birth.
        Our baby was laid on my chest at once.
        Breastfeeding was hard and the advice was different each shift.
        The birth plan was read and respected.
        The epidural came too late although I had asked early.
        The midwife showed us how to bathe the newborn.
        My partner could stay in the delivery room all night.
        The cradle beside the bed is very practical.
        After the caesarean I needed help to lift the baby.
        The course before birth prepared us well.
    """,
    "leaving": """
        I was discharged on a Friday without a letter for my doctor.
        Nobody had arranged help at home after discharge.
        We waited for the discharge letter until the afternoon.
        The transport home came three hours late.
        I got a clear sheet about what to do at home.
        I would have felt safer with another day on the ward.
        The follow up appointment was already booked when I left.
        At home I did not know whom to call with questions.
        The social worker found a place in rehab for me.
        They discharged me before the results were there.
    """,
    "parking": """
        The car park was full and the machine took no cards.
        Parking cost more than the taxi would have.
        The signs from the car park to the entrance are confusing.
        The bus stops far from the entrance.
        There are too few disabled parking spaces near the door.
        I got a parking ticket while I was with the doctor.
        The lift from the car park was out of order.
        We got lost because the signs end at the stairs.
    """,
    "cleaning": """
        The bathroom was dirty and the bin had not been emptied.
        The toilet was cleaned once in three days.
        Towels were missing and the shower drain was blocked.
        The room was spotless and smelled fresh.
        There was dust under the bed and on the lamp.
        The cleaner was thorough and cheerful.
        The soap dispenser was empty for days.
        Blood from the day before was still on the floor.
    """,
}

STAFF = {  # ward: whom its notes name
    "cardiology": ("nurse Applewood", "Dr Quillfeather"),
    "children": ("nurse Applewood", "nurse Marmaduke"),
    "emergency": ("Dr Thistledown",),
    "geriatrics": ("nurse Marmaduke", "sister Bramblewick"),
    "maternity": ("sister Bramblewick",),
    "surgery": ("Dr Quillfeather",),
}
THANKS = (
    "Please thank {} for it.",
    "{} was wonderful.",
    "A complaint about {} led to nothing.",
    "Only {} had time to listen.",
    "{} promised to look after it.",
)


def notes(n_patients: int = 8000, seed: int = 20240501) -> list[dict[str, str]]:
    """Return the notes, one of a patient's after the other's, mixed."""
    rng = random.Random(seed)
    sentences = {
        theme: [one.strip() for one in text.strip().split("\n")] for theme, text in SENTENCES.items()
    }
    rows = []
    for number in range(n_patients):
        ward = rng.choice(sorted(WARDS))
        themes, weights = zip(*WARDS[ward].items(), strict=True)
        for _ in range(
            min(30, int(1 / max(rng.random(), 0.02) ** 0.7))
        ):  # most write once, a few fifteen times
            theme = rng.choices(themes, weights)[0]
            said = rng.sample(sentences[theme], rng.randint(2, 4))
            if rng.random() < 0.2:
                said.append(rng.choice(sentences[rng.choices(themes, weights)[0]]))
            if rng.random() < 0.25:
                thanks = rng.choice(THANKS).format(rng.choice(STAFF[ward]))
                said.append(thanks[0].upper() + thanks[1:])
            rows.append({"patient": f"P{number:05}", "ward": ward, "note": " ".join(said)})
    rng.shuffle(rows)
    return rows


def write(path: Path, n_patients: int = 8000) -> None:
    """Write the notes, and beside them the two public lists of the hospital: its wards and its staff."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ("patient", "ward", "note"), lineterminator="\n")
        table.writeheader()
        table.writerows(notes(n_patients))
    path.with_name("wards.txt").write_text("".join(f"{ward}\n" for ward in sorted(WARDS)), encoding="utf-8")
    surnames = {name.split()[-1] for names in STAFF.values() for name in names}
    path.with_name("staff.txt").write_text(
        "".join(f"{name}\n" for name in sorted(surnames)), encoding="utf-8"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
